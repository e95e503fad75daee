! SPDX-License-Identifier: GPL-2.0-only
! Collectives out of Fortran 2008, by the module mpi_f08, of which the last call fails: a group has to
! be there.
program language
  use mpi_f08
  implicit none
  integer :: rank, ranks, round, error
  logical :: done
  type(MPI_Comm) :: own
  double precision :: mine(10), total(10)
  type(MPI_Request) :: request

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  do round = 1, 50
    mine = rank + round
    call MPI_Iallreduce(mine, total, 10, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    if (any(total /= ranks - 1 + round)) call wrong(round)
    call MPI_Allreduce(MPI_IN_PLACE, mine, 10, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    if (any(mine /= ranks * (ranks - 1) / 2 + ranks * round)) call wrong(round)
    call MPI_Bcast(total, 10, MPI_DOUBLE_PRECISION, ranks - 1, MPI_COMM_WORLD)
    ! A look is enough to complete it.
    call MPI_Ibarrier(MPI_COMM_WORLD, request)
    done = .false.
    do while (.not. done)
      call MPI_Request_get_status(request, done, MPI_STATUS_IGNORE)
    end do
    call MPI_Wait(request, MPI_STATUS_IGNORE)
  end do
  ! A failure goes to the error handler of its communicator.
  call MPI_Comm_dup(MPI_COMM_WORLD, own)
  call MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN)
  do round = 1, 10
    call MPI_Barrier(own)
  end do
  call MPI_Iallreduce(mine, total, merge(9, 10, rank == 0), MPI_DOUBLE_PRECISION, MPI_MAX, own, request, error)
  call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  if (error == MPI_SUCCESS) call wrong(round)
  call MPI_Comm_free(own)
  if (rank == 0) print '(a)', 'Fortran 2008 is right'
  call MPI_Finalize()

contains

  subroutine wrong(round)
    integer, intent(in) :: round
    print *, 'wrong in round', round
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine wrong

end program language
