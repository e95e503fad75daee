! SPDX-License-Identifier: GPL-2.0-only
! Collectives out of Fortran 2008, by the module mpi_f08.
program language
  use mpi_f08
  implicit none
  integer :: rank, ranks, round
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
  end do
  if (rank == 0) print '(a)', 'Fortran 2008 is right'
  call MPI_Finalize()

contains

  subroutine wrong(round)
    integer, intent(in) :: round
    print *, 'wrong in round', round
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine wrong

end program language
